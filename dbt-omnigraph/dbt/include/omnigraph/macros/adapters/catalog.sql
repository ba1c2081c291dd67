{# The catalog of the graph. The branch is the connection's; dbt sees the name of the target branch. #}

{% macro omnigraph__list_schemas(database) -%}
  {% set sql %}
    select distinct schema_name from information_schema.schemata
    where catalog_name = current_catalog
  {% endset %}
  {{ return(run_query(sql)) }}
{%- endmacro %}

{% macro omnigraph__check_schema_exists(information_schema, schema) -%}
  {% set sql %}
    select count(*) from information_schema.schemata
    where catalog_name = current_catalog and schema_name = '{{ schema }}'
  {% endset %}
  {{ return(run_query(sql)) }}
{%- endmacro %}

{% macro omnigraph__information_schema_name(database) -%}
  information_schema
{%- endmacro %}

{% macro omnigraph__relation_type() -%}
  case
    when table_type = 'VIEW' then 'view'
    when table_schema = 'nodes' then 'node'
    when table_schema = 'edges' then 'edge'
    else 'table'
  end
{%- endmacro %}

{% macro omnigraph__list_relations_without_caching(schema_relation) -%}
  {% call statement('list_relations_without_caching', fetch_result=True) -%}
    select
      '{{ schema_relation.database }}' as database,
      table_name as name,
      table_schema as schema,
      {{ omnigraph__relation_type() }} as type
    from information_schema.tables
    where table_catalog = current_catalog
      and table_schema = '{{ schema_relation.schema }}'
  {%- endcall %}
  {{ return(load_result('list_relations_without_caching').table) }}
{%- endmacro %}

{% macro omnigraph__get_columns_in_relation(relation) -%}
  {% call statement('get_columns_in_relation', fetch_result=True) -%}
    select column_name, data_type, null as char_size, null as numeric_precision,
      null as numeric_scale
    from information_schema.columns
    where table_catalog = current_catalog
      and table_schema = '{{ relation.schema }}'
      and table_name = '{{ relation.identifier }}'
    order by ordinal_position
  {%- endcall %}
  {% set columns = [] %}
  {% for row in load_result('get_columns_in_relation').table %}
    {% do columns.append(api.Column(row[0], row[1] | lower)) %}
  {% endfor %}
  {{ return(columns) }}
{%- endmacro %}

{% macro omnigraph__catalog_sql(information_schema, condition) -%}
  select
    '{{ information_schema.database }}' as table_database,
    t.table_schema as table_schema,
    t.table_name as table_name,
    case
      when t.table_type = 'VIEW' then 'VIEW'
      when t.table_schema = 'nodes' then 'NODE TABLE'
      when t.table_schema = 'edges' then 'EDGE TABLE'
      else 'BASE TABLE'
    end as table_type,
    t.table_comment as table_comment,
    null as table_owner,
    c.column_name as column_name,
    c.ordinal_position as column_index,
    c.data_type as column_type,
    c.column_comment as column_comment
  from information_schema.tables t
  join information_schema.columns c
    on t.table_catalog = c.table_catalog
    and t.table_schema = c.table_schema
    and t.table_name = c.table_name
  where t.table_catalog = current_catalog and ({{ condition }})
  order by table_schema, table_name, column_index
{%- endmacro %}

{% macro omnigraph__get_catalog(information_schema, schemas) -%}
  {% set conditions = [] %}
  {% for schema in schemas %}
    {% do conditions.append("t.table_schema = '" ~ schema ~ "'") %}
  {% endfor %}
  {{ return(run_query(omnigraph__catalog_sql(information_schema, conditions | join(' or ')))) }}
{%- endmacro %}

{% macro omnigraph__get_catalog_relations(information_schema, relations) -%}
  {% set conditions = [] %}
  {% for relation in relations %}
    {% if relation.identifier %}
      {% do conditions.append(
        "(t.table_schema = '" ~ relation.schema ~ "' and t.table_name = '" ~ relation.identifier ~ "')"
      ) %}
    {% else %}
      {% do conditions.append("t.table_schema = '" ~ relation.schema ~ "'") %}
    {% endif %}
  {% endfor %}
  {{ return(run_query(omnigraph__catalog_sql(information_schema, conditions | join(' or ')))) }}
{%- endmacro %}

{% macro omnigraph__get_catalog_for_single_relation(relation) -%}
  {% set condition -%}
    t.table_schema = '{{ relation.schema }}' and t.table_name = '{{ relation.identifier }}'
  {%- endset %}
  {{ return(run_query(omnigraph__catalog_sql(relation, condition))) }}
{%- endmacro %}
