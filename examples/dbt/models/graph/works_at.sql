select person_id, company_id, since, title from {{ ref('stg_jobs') }}
