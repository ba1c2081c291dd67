{# Python models. Their code is run by the adapter, which gives `materialize` a session, a way to read
   and a way to write. What is not a plain table is staged as one, and is SQL from there on. #}

{% macro omnigraph__python_table(relation, compiled_code) %}
{{ compiled_code }}


def materialize(run):
    made = model(dbtObj(run.read), run.session)
    run.write({{ relation.schema | tojson }}, {{ relation.identifier | tojson }}, made)
{% endmacro %}

{# Names go into JSON, which has its own way with quotes. #}
{% macro omnigraph__resolve_model_name(input_model_name) -%}
  {{ return(input_model_name | string) }}
{%- endmacro %}

{# Where the rows of a Python model wait for the statement that takes them over. #}
{% macro omnigraph__staged_relation(relation) -%}
  {{ return(api.Relation.create(
    database=relation.database,
    schema=(target.schema if relation.is_graph_type else relation.schema),
    identifier=relation.identifier ~ '__dbt_python',
    type='table'
  )) }}
{%- endmacro %}

{# The query of a model: its own, or that for its staged rows. #}
{% macro omnigraph__rows_of(staged) -%}
  {{ return(sql if staged is none else 'select * from ' ~ staged.render()) }}
{%- endmacro %}

{% macro omnigraph__drop_staged(staged) -%}
  {% if staged is not none %}
    {% do adapter.drop_relation(staged) %}
  {% endif %}
{%- endmacro %}
