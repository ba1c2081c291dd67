{# Creating, renaming and dropping relations. Every statement is one commit of the run's branch. #}

{% macro omnigraph__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language == 'python' -%}
    {{ return(omnigraph__python_table(relation, compiled_code)) }}
  {%- endif -%}
  {%- set sql = compiled_code -%}
  {%- set contract = config.get('contract') -%}
  {%- set sql_header = config.get('sql_header', none) -%}
  {{ sql_header if sql_header is not none }}
  create or replace {% if temporary %}temporary {% endif %}table {{ relation.render() }}
  {% if contract.enforced and not temporary %}
    {{ get_assert_columns_equivalent(sql) }}
    {{ get_table_columns_and_constraints() }}
    {%- set sql = get_select_subquery(sql) %}
  {% endif %}
  as (
    {{ sql }}
  )
{%- endmacro %}

{% macro omnigraph__create_view_as(relation, sql) -%}
  {%- set contract = config.get('contract') -%}
  {%- set sql_header = config.get('sql_header', none) -%}
  {{ sql_header if sql_header is not none }}
  create or replace view {{ relation.render() }}
  {% if contract.enforced %}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  as (
    {{ sql }}
  )
{%- endmacro %}

{% macro omnigraph__drop_relation(relation) -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    drop {{ 'view' if relation.is_view else 'table' }} if exists {{ relation.render() }} cascade
  {%- endcall %}
{%- endmacro %}

{% macro omnigraph__rename_relation(from_relation, to_relation) -%}
  {% call statement('rename_relation') -%}
    alter {{ 'view' if from_relation.is_view else 'table' }} {{ from_relation.render() }}
    rename to {{ adapter.quote_as_configured(to_relation.identifier, 'identifier') }}
  {%- endcall %}
{%- endmacro %}

{% macro omnigraph__alter_column_type(relation, column_name, new_column_type) -%}
  {% call statement('alter_column_type') -%}
    alter table {{ relation.render() }}
    alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {%- endcall %}
{%- endmacro %}

{% macro omnigraph__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {% set changes = [] %}
  {% for column in add_columns or [] %}
    {% do changes.append('add column ' ~ column.quoted ~ ' ' ~ column.expanded_data_type) %}
  {% endfor %}
  {% for column in remove_columns or [] %}
    {% do changes.append('drop column ' ~ column.quoted) %}
  {% endfor %}
  {% if changes %}
    {% do run_query('alter table ' ~ relation.render() ~ ' ' ~ changes | join(', ')) %}
  {% endif %}
{%- endmacro %}

{% macro omnigraph__alter_relation_comment(relation, relation_comment) -%}
  comment on {{ 'view' if relation.is_view else 'table' }} {{ relation.render() }}
  is '{{ relation_comment | replace("'", "''") }}'
{%- endmacro %}

{% macro omnigraph__alter_column_comment(relation, column_dict) -%}
  {% for name in column_dict -%}
    {%- set column = column_dict[name] -%}
    comment on column {{ relation.render() }}.{{ adapter.quote(name) if column['quote'] else name }}
    is '{{ column['description'] | replace("'", "''") }}';
  {% endfor %}
{%- endmacro %}

{% macro omnigraph__can_clone_table() -%}
  {{ return(True) }}
{%- endmacro %}

{% macro omnigraph__current_timestamp() -%}
  now()
{%- endmacro %}

{% macro omnigraph__snapshot_get_time() -%}
  cast(now() as timestamp)
{%- endmacro %}

{% macro omnigraph__snapshot_string_as_time(timestamp) -%}
  {{ return("cast('" ~ timestamp ~ "' as timestamp)") }}
{%- endmacro %}

{# A staging table is dropped before the publish; sessions end after it. #}
{% macro omnigraph__post_snapshot(staging_relation) -%}
  {% do adapter.drop_relation(staging_relation) %}
{%- endmacro %}
