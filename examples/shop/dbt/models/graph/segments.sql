select
    email,
    case when spent >= 500 then 'gold' when spent > 0 then 'regular' else 'visitor' end as segment
from {{ ref('customer_value') }}
