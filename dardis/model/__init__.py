"""Domain types. Imports only numpy and annotated-types from outside."""
