{% macro omnigraph__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- if limit_num -%}
    array_to_string(
      array_slice(array_agg({{ measure }} {{ order_by_clause or '' }}), 1, {{ limit_num }}),
      {{ delimiter_text }}
    )
  {%- else -%}
    string_agg({{ measure }}, {{ delimiter_text }} {{ order_by_clause or '' }})
  {%- endif -%}
{%- endmacro %}
