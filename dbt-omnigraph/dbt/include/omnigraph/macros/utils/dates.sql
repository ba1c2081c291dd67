{# Date arithmetic. A difference counts the boundaries in between, as elsewhere in dbt. #}

{% macro omnigraph__dateadd(datepart, interval, from_date_or_timestamp) %}
  {%- set part = datepart | lower -%}
  {%- set factor, unit = (3, 'month') if part == 'quarter' else (1, part) -%}
  cast({{ from_date_or_timestamp }} as timestamp) + cast({{ interval }} as bigint) * {{ factor }} * interval '1 {{ unit }}'
{% endmacro %}

{% macro omnigraph__datediff(first_date, second_date, datepart) -%}
  {%- set part = datepart | lower -%}
  ({{ omnigraph__boundary(second_date, part) }} - {{ omnigraph__boundary(first_date, part) }})
{%- endmacro %}

{# How many boundaries of a date part lie before a timestamp; weeks begin on Sundays. #}
{% macro omnigraph__boundary(moment, part) -%}
  {%- set at = 'cast(' ~ moment ~ ' as timestamp)' -%}
  {%- set seconds = {'second': 1, 'minute': 60, 'hour': 3600, 'day': 86400} -%}
  {%- set fractions = {'millisecond': 1000, 'microsecond': 1000000} -%}
  {%- if part == 'year' -%}
    cast(date_part('year', {{ at }}) as bigint)
  {%- elif part == 'quarter' -%}
    cast(date_part('year', {{ at }}) * 4 + date_part('quarter', {{ at }}) as bigint)
  {%- elif part == 'month' -%}
    cast(date_part('year', {{ at }}) * 12 + date_part('month', {{ at }}) as bigint)
  {%- elif part == 'week' -%}
    cast(floor((floor(date_part('epoch', {{ at }}) / 86400) + 4) / 7) as bigint)
  {%- elif part in seconds -%}
    cast(floor(date_part('epoch', {{ at }}) / {{ seconds[part] }}) as bigint)
  {%- elif part in fractions -%}
    cast(floor(date_part('epoch', {{ at }}) * {{ fractions[part] }}) as bigint)
  {%- else -%}
    {% do exceptions.raise_compiler_error("datediff does not support the date part '" ~ part ~ "'") %}
  {%- endif -%}
{%- endmacro %}

{% macro omnigraph__current_timestamp_backcompat() -%}
  current_timestamp::timestamp
{%- endmacro %}

{% macro omnigraph__current_timestamp_in_utc_backcompat() -%}
  (current_timestamp at time zone 'utc')::timestamp
{%- endmacro %}
