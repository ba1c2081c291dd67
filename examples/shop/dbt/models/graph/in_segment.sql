select email as customer, segment from {{ ref('segments') }}
