select a, b, met from {{ ref('stg_friendships') }}
