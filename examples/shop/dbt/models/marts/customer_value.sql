select
    customer.email,
    customer.name,
    count(bought.id) as purchases,
    coalesce(sum(bought.quantity * product.price), 0) as spent
from {{ source('nodes', 'Customer') }} as customer
left join {{ source('edges', 'Bought') }} as bought on bought.src = customer.id
left join {{ source('nodes', 'Product') }} as product on bought.dst = product.id
group by customer.email, customer.name
