{# Strategies beyond those that dbt writes itself. #}

{% macro omnigraph__get_incremental_default_sql(arg_dict) -%}
  {% if arg_dict['unique_key'] %}
    {{ return(get_incremental_merge_sql(arg_dict)) }}
  {% endif %}
  {{ return(get_incremental_append_sql(arg_dict)) }}
{%- endmacro %}

{% macro omnigraph__get_incremental_insert_overwrite_sql(arg_dict) -%}
  {%- set partition = config.require('partition_by') -%}
  {%- set columns = [partition] if partition is string else partition -%}
  {%- set target, source = arg_dict['target_relation'], arg_dict['temp_relation'] -%}
  {%- set names = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  delete from {{ target }} as old
  using (select distinct {{ columns | join(', ') }} from {{ source }}) as new
  where {% for column in columns %}old.{{ column }} = new.{{ column }}{{ ' and ' if not loop.last }}{% endfor %};
  insert into {{ target }} ({{ names }}) select {{ names }} from {{ source }}
{%- endmacro %}

{% macro omnigraph__get_incremental_microbatch_sql(arg_dict) -%}
  {%- set target, source = arg_dict['target_relation'], arg_dict['temp_relation'] -%}
  {%- set names = get_quoted_csv(arg_dict['dest_columns'] | map(attribute='name')) -%}
  {%- set event_time = model.config.event_time -%}
  {%- set conditions = [] -%}
  {%- if model.batch and model.batch.event_time_start -%}
    {%- do conditions.append(event_time ~ " >= cast('" ~ model.batch.event_time_start ~ "' as timestamp)") -%}
  {%- endif -%}
  {%- if model.batch and model.batch.event_time_end -%}
    {%- do conditions.append(event_time ~ " < cast('" ~ model.batch.event_time_end ~ "' as timestamp)") -%}
  {%- endif -%}
  delete from {{ target }} where {{ conditions | join(' and ') }};
  insert into {{ target }} ({{ names }}) select {{ names }} from {{ source }}
{%- endmacro %}
