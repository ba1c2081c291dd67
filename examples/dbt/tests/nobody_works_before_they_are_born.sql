select person.name
from {{ ref('works_at') }} as job
join {{ ref('person') }} as person on job.src = person.id
where job.since < extract(year from person.born)
