select distinct segment as id, segment as name from {{ ref('segments') }}
