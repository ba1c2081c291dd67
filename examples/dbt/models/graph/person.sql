select id, name, born, email from {{ ref('stg_people') }}
