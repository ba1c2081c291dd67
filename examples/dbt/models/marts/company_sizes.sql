select company.name as company, count(*) as people
from {{ ref('works_at') }} as job
join {{ ref('company') }} as company on job.dst = company.id
group by company.name
