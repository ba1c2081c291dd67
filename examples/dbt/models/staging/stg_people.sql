select
  cast(person_id as bigint) as id,
  trim(full_name) as name,
  cast(born as date) as born,
  lower(email) as email
from {{ ref('people') }}
