{# For people who promote by hand: dbt run-operation omnigraph_publish --args '{branch: dbt/dev}' #}

{% macro omnigraph_publish(branch, into=none, keep=false) %}
  {% set target_branch = into or adapter.target_branch_name() %}
  {% do run_query('merge branch "' ~ branch ~ '" into "' ~ target_branch ~ '"' ~ ('' if keep else ' drop source')) %}
  {% do log('Published ' ~ branch ~ ' to ' ~ target_branch ~ '.', info=true) %}
{% endmacro %}

{% macro omnigraph_drop_branch(branch) %}
  {% do run_query('drop branch "' ~ branch ~ '"') %}
  {% do log('Dropped ' ~ branch ~ '.', info=true) %}
{% endmacro %}

{% macro omnigraph_list_branches() %}
  {% for row in run_query('show branches') %}
    {% do log(row.values() | join('\t'), info=true) %}
  {% endfor %}
{% endmacro %}
