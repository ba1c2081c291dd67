{# Node and edge models: a query whose rows become the entities of a type.

   materialized: node   type_name, key, load: replace | merge | append
   materialized: edge   type_name, from, to (the columns that hold the ends' keys), load

   With an enforced contract the columns, their constraints and descriptions make the type; without
   one they follow from the query. #}

{% materialization node, adapter='omnigraph' %}
  {{ return(omnigraph__graph_model('node')) }}
{% endmaterialization %}

{% materialization edge, adapter='omnigraph' %}
  {{ return(omnigraph__graph_model('edge')) }}
{% endmaterialization %}

{% macro omnigraph__graph_model(kind) %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type=kind) -%}
  {%- set load = config.get('load', 'replace') -%}
  {% if load not in ('replace', 'merge', 'append') %}
    {% do exceptions.raise_compiler_error("load: '" ~ load ~ "' is not one of replace, merge, append") %}
  {% endif %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if existing is none or load == 'replace' or should_full_refresh() %}
    {% set statement_sql = omnigraph__create_graph_type(kind, target, sql) %}
  {% else %}
    {% set statement_sql = omnigraph__load_graph_type(kind, target, sql, load) %}
  {% endif %}
  {% call statement('main') -%}
    {{ statement_sql }}
  {%- endcall %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmacro %}
