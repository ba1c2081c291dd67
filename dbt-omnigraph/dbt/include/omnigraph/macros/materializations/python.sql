{# Python models. The adapter runs their code and passes `materialize` a session and functions to read
   and write relations. Rows of what is not a plain table are staged in one; SQL continues from there. #}

{% macro omnigraph__python_table(relation, compiled_code) %}
{{ compiled_code }}


def materialize(run):
    result = model(dbtObj(run.read), run.session)
    run.write({{ relation.schema | tojson }}, {{ relation.identifier | tojson }}, result)
{% endmacro %}

{# Names go into JSON, which escapes quotes itself. #}
{% macro omnigraph__resolve_model_name(input_model_name) -%}
  {{ return(input_model_name | string) }}
{%- endmacro %}

{# The table in which the rows of a Python model are staged; none for a model in SQL. The statement that
   fills it stands in each materialization: dbt submits Python from there alone. #}
{% macro omnigraph__staged_relation(relation) -%}
  {% if model['language'] != 'python' %}
    {{ return(none) }}
  {% endif %}
  {{ return(api.Relation.create(
    database=relation.database,
    schema=(target.schema if relation.is_graph_type else relation.schema),
    identifier=relation.identifier ~ '__dbt_python',
    type='table'
  )) }}
{%- endmacro %}

{# The query of a model: its own, or one of its staged rows. #}
{% macro omnigraph__rows_of(staged) -%}
  {{ return(sql if staged is none else 'select * from ' ~ staged.render()) }}
{%- endmacro %}

{% macro omnigraph__drop_staged(staged) -%}
  {% if staged is not none %}
    {% do adapter.drop_relation(staged) %}
  {% endif %}
{%- endmacro %}
