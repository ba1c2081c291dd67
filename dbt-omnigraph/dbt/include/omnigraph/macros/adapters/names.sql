{# A node or edge model is a type of the graph, which determines its schema and name. #}

{% macro omnigraph__generate_schema_name(custom_schema_name, node) -%}
  {%- set kind = node.config.materialized if node is not none and node.config is defined else none -%}
  {%- if kind in ('node', 'edge') -%}
    {{ kind }}s
  {%- else -%}
    {{ default__generate_schema_name(custom_schema_name, node) }}
  {%- endif -%}
{%- endmacro %}

{% macro omnigraph__generate_alias_name(custom_alias_name=none, node=none) -%}
  {%- set kind = node.config.materialized if node is not none and node.config is defined else none -%}
  {%- if kind in ('node', 'edge') and custom_alias_name is none -%}
    {{ node.config.get('type_name') or node.name }}
  {%- else -%}
    {{ default__generate_alias_name(custom_alias_name, node) }}
  {%- endif -%}
{%- endmacro %}
