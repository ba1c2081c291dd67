select cast(a as bigint) as a, cast(b as bigint) as b, cast(met as integer) as met
from {{ ref('friendships') }}
