{% materialization table, adapter='omnigraph', supported_languages=['sql', 'python'] %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is not none and existing.is_view %}
    {{ adapter.drop_relation(existing) }}
  {% endif %}
  {% call statement('main', language=model['language']) -%}
    {{ create_table_as(False, target, compiled_code, model['language']) }}
  {%- endcall %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do apply_grants(target, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=True)) %}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
