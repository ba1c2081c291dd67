{% materialization incremental, adapter='omnigraph', supported_languages=['sql', 'python'] %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set rebuild = existing is none or existing.is_view or should_full_refresh() -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- set strategy_sql = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is not none and existing.is_view %}
    {{ adapter.drop_relation(existing) }}
  {% endif %}
  {% set staged = omnigraph__staged_relation(target) %}
  {% if staged is not none %}
    {% call statement('staged', language='python') -%}
      {{ create_table_as(True, staged, compiled_code, 'python') }}
    {%- endcall %}
  {% elif not rebuild %}
    {% set staged = make_temp_relation(target) %}
    {% call statement('staged') -%}
      {{ create_table_as(True, staged, sql) }}
    {%- endcall %}
  {% endif %}

  {% if rebuild %}
    {% set build_sql = create_table_as(False, target, omnigraph__rows_of(staged)) %}
  {% else %}
    {% set columns = process_schema_changes(on_schema_change, staged, existing)
      or adapter.get_columns_in_relation(existing) %}
    {% set build_sql = strategy_sql({
      'target_relation': target,
      'temp_relation': staged,
      'unique_key': config.get('unique_key'),
      'dest_columns': columns,
      'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
    }) %}
  {% endif %}
  {% call statement('main') -%}
    {{ build_sql }}
  {%- endcall %}

  {% do apply_grants(target, config.get('grants'), should_revoke=should_revoke(existing, rebuild)) %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do omnigraph__drop_staged(staged) %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{# Strategies beyond those that dbt implements itself. #}

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
