"""The words of the domain. Imports nothing else of the project and no outside library but numpy and annotated-types."""
