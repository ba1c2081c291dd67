{# Node and edge models: a query whose rows become the entities of a type.

   materialized: node   type_name, key, load: replace | merge | append
   materialized: edge   type_name, from, to (the columns with the keys of the ends), load

   With an enforced contract the columns, their constraints and descriptions define the type; without
   one they follow from the query. #}

{% materialization node, adapter='omnigraph', supported_languages=['sql', 'python'] %}
  {%- set staged = omnigraph__begin_graph_model() -%}
  {% if staged is not none %}
    {% call statement('staged', language='python') -%}
      {{ create_table_as(True, staged, compiled_code, 'python') }}
    {%- endcall %}
  {% endif %}
  {{ return(omnigraph__graph_model('node', staged)) }}
{% endmaterialization %}

{% materialization edge, adapter='omnigraph', supported_languages=['sql', 'python'] %}
  {%- set staged = omnigraph__begin_graph_model() -%}
  {% if staged is not none %}
    {% call statement('staged', language='python') -%}
      {{ create_table_as(True, staged, compiled_code, 'python') }}
    {%- endcall %}
  {% endif %}
  {{ return(omnigraph__graph_model('edge', staged)) }}
{% endmaterialization %}

{% macro omnigraph__begin_graph_model() %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {{ return(omnigraph__staged_relation(this)) }}
{% endmacro %}

{% macro omnigraph__graph_model(kind, staged) %}
  {%- set sql = omnigraph__rows_of(staged) -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type=kind) -%}
  {%- set load = config.get('load', 'replace') -%}
  {% if load not in ('replace', 'merge', 'append') %}
    {% do exceptions.raise_compiler_error("load: '" ~ load ~ "' is not one of replace, merge, append") %}
  {% endif %}

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
  {% do omnigraph__drop_staged(staged) %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmacro %}

{# The statement that creates the type and its entities. #}
{% macro omnigraph__create_graph_type(kind, target, sql) -%}
  {%- set contract = config.get('contract') -%}
  {%- set key = config.get('key') -%}
  create or replace {{ kind }} table {{ adapter.quote(target.identifier) }}
  {% if kind == 'edge' %}
    {%- set ends = omnigraph__edge_ends() %}
    from {{ adapter.quote(ends['from']) }} to {{ adapter.quote(ends['to']) }}
  {% endif %}
  {% if contract.enforced %}
    {{ get_assert_columns_equivalent(sql) }}
    {{ omnigraph__graph_columns(key) }}
    {%- set sql = get_select_subquery(sql) %}
  {% elif key %}
    (primary key ({{ omnigraph__quoted_list(key) }}))
  {% endif %}
  as {{ omnigraph__graph_rows(kind, sql) }}
{%- endmacro %}

{# Rows for a type that exists: appended, or merged into those with the same key. #}
{% macro omnigraph__load_graph_type(kind, target, sql, load) -%}
  {%- set rows = omnigraph__graph_rows(kind, sql) -%}
  {%- set columns = get_columns_in_query(rows) -%}
  {%- set names = omnigraph__quoted_list(columns) -%}
  {%- if load == 'append' -%}
    insert into {{ target.render() }} ({{ names }}) {{ rows }}
  {%- else -%}
    {%- set key = config.get('key') or (['src', 'dst'] if kind == 'edge' else 'id') -%}
    {%- set keys = [key] if key is string else key -%}
    merge into {{ target.render() }} as old using (
      {{ rows }}
    ) as new
    on {% for name in keys %}old.{{ adapter.quote(name) }} = new.{{ adapter.quote(name) }}{{ ' and ' if not loop.last }}{% endfor %}
    {%- set others = columns | reject('in', keys) | list %}
    {% if others %}
    when matched then update set
      {% for name in others %}{{ adapter.quote(name) }} = new.{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %}
    {% endif %}
    when not matched then insert ({{ names }}) values (
      {% for name in columns %}new.{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %}
    )
  {%- endif -%}
{%- endmacro %}

{# The model's rows under the names that the graph has for the ends of an edge. #}
{% macro omnigraph__graph_rows(kind, sql) -%}
  {%- if kind == 'node' -%}
    select * from (
      {{ sql }}
    ) as model_rows
  {%- else -%}
    {%- set from_column, to_column = omnigraph__end_column('from'), omnigraph__end_column('to') -%}
    {%- set renamed = {from_column: 'src', to_column: 'dst'} -%}
    select
    {% for name in get_columns_in_query(sql) %}
      {{ adapter.quote(name) }} as {{ adapter.quote(renamed.get(name, name)) }}{{ ', ' if not loop.last }}
    {%- endfor %}
    from (
      {{ sql }}
    ) as model_rows
  {%- endif -%}
{%- endmacro %}

{% macro omnigraph__end_column(end) -%}
  {{ return(config.get(end) or config.get(end ~ '_node') or ('src' if end == 'from' else 'dst')) }}
{%- endmacro %}

{# The node types of the two ends: configured, or named by the foreign keys of the two columns. #}
{% macro omnigraph__edge_ends() -%}
  {%- set ends = {} -%}
  {%- for end in ('from', 'to') -%}
    {%- set column = omnigraph__end_column(end) -%}
    {%- set configured = config.get(end ~ '_type') -%}
    {%- if configured -%}{%- do ends.update({end: configured}) -%}{%- endif -%}
    {%- for constraint in model.constraints if end not in ends -%}
      {%- if constraint.type == 'foreign_key' and constraint.columns == [column] and constraint.to -%}
        {%- do ends.update({end: constraint.to.split('.')[-1].strip('"')}) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- if end not in ends -%}
      {%- do exceptions.raise_compiler_error(
        "edge " ~ model.name ~ ": the node type of '" ~ column ~ "' is unknown; give the column a foreign_key"
        ~ " constraint to the node model, or set " ~ end ~ "_type in the config of the edge"
      ) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(ends) }}
{%- endmacro %}

{# Columns of the contract and their constraints; foreign keys are the ends of an edge. #}
{% macro omnigraph__graph_columns(key) -%}
  {%- set renamed = {omnigraph__end_column('from'): 'src', omnigraph__end_column('to'): 'dst'} if config.get('materialized') == 'edge' else {} -%}
  {%- set items = [] -%}
  {%- set rules = [] -%}
  {%- for name, column in model.columns.items() -%}
    {%- set words = [adapter.quote(renamed.get(name, name)), column['data_type']] -%}
    {%- for constraint in column['constraints'] or [] -%}
      {%- if constraint.type == 'check' -%}
        {%- do rules.append('check (' ~ constraint.expression ~ ')') -%}
      {%- elif constraint.type != 'foreign_key' -%}
        {%- do words.append(constraint.type.replace('_', ' ')) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- do items.append(words | join(' ')) -%}
  {%- endfor -%}
  {%- for constraint in model.constraints -%}
    {%- if constraint.type == 'check' -%}
      {%- do rules.append('check (' ~ constraint.expression ~ ')') -%}
    {%- elif constraint.type in ('unique', 'primary_key') -%}
      {%- do rules.append(constraint.type.replace('_', ' ') ~ ' (' ~ omnigraph__quoted_list(constraint.columns) ~ ')') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if key -%}
    {%- do rules.append('primary key (' ~ omnigraph__quoted_list(key) ~ ')') -%}
  {%- endif -%}
  ({{ (items + rules) | join(', ') }})
{%- endmacro %}

{% macro omnigraph__quoted_list(names) -%}
  {%- set listed = [names] if names is string else names -%}
  {%- for name in listed -%}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{%- endfor -%}
{%- endmacro %}
