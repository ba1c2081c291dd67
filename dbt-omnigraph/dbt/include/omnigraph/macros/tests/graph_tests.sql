{# Generic tests for graphs. #}

{% test edge_endpoints_exist(model, to, column_name=none, field='id') %}
  select edge.{{ adapter.quote(column_name) }} as missing
  from {{ model }} as edge
  left join {{ to }} as node on edge.{{ adapter.quote(column_name) }} = node.{{ adapter.quote(field) }}
  where node.{{ adapter.quote(field) }} is null
{% endtest %}

{% test no_self_loops(model, from_column='src', to_column='dst') %}
  select {{ adapter.quote(from_column) }} as node
  from {{ model }}
  where {{ adapter.quote(from_column) }} = {{ adapter.quote(to_column) }}
{% endtest %}

{% test cardinality(model, at_least=0, at_most=none, from_column='src', of=none, field='id') %}
  with edges as (
    select {{ adapter.quote(from_column) }} as node, count(*) as edges
    from {{ model }} group by {{ adapter.quote(from_column) }}
  )
  {% if of is not none and at_least > 0 %}
  select node.{{ adapter.quote(field) }} as node, coalesce(edges.edges, 0) as edges
  from {{ of }} as node
  left join edges on edges.node = node.{{ adapter.quote(field) }}
  where coalesce(edges.edges, 0) < {{ at_least }}
  {% if at_most is not none %} or coalesce(edges.edges, 0) > {{ at_most }} {% endif %}
  {% else %}
  select node, edges from edges
  where edges < {{ at_least }}
  {% if at_most is not none %} or edges > {{ at_most }} {% endif %}
  {% endif %}
{% endtest %}
