select
    product.sku,
    count(distinct bought.src) as customers,
    sum(bought.quantity) as pieces,
    sum(bought.quantity * product.price) as income
from {{ source('edges', 'Bought') }} as bought
join {{ source('nodes', 'Product') }} as product on bought.dst = product.id
group by product.sku
