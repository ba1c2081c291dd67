{# Seeds are loaded as one stream, however many rows they have. #}

{% macro omnigraph__load_csv_rows(model, agate_table) -%}
  {% set relation = this.incorporate(type='table') %}
  {% set count = adapter.ingest_seed(relation, agate_table) %}
  {{ return('-- ' ~ count ~ ' rows were streamed into ' ~ relation.render()) }}
{%- endmacro %}

{% macro omnigraph__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
  {% if full_refresh %}
    {{ adapter.drop_relation(old_relation) }}
    {{ return(create_csv_table(model, agate_table)) }}
  {% endif %}
  {{ adapter.truncate_relation(old_relation) }}
  {{ return('truncate table ' ~ old_relation.render()) }}
{%- endmacro %}
