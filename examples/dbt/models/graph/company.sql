select cast(company_id as bigint) as id, company as name, cast(founded as integer) as founded
from {{ ref('companies') }}
