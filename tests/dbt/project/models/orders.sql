{{ config(materialized="table") }}
select id, upper(customer) as customer, amount from {{ source("shop", "raw_orders") }}
