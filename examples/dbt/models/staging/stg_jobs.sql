select
  cast(person_id as bigint) as person_id,
  cast(company_id as bigint) as company_id,
  cast(since as integer) as since,
  title
from {{ ref('jobs') }}
