//! Descriptions of tools: those that models read, and those that a page sends along.

use serde_json::Value;

use crate::json_struct::json_struct;

json_struct! {
    /// A tool as a model is told about it.
    ///
    /// ```
    /// use headwater_protocol::ToolSpec;
    /// use serde_json::json;
    ///
    /// let tool = ToolSpec::new("weather", json!({ "type": "object", "properties": { "city": { "type": "string" } } }))
    ///     .description("The weather of a city");
    /// assert_eq!(tool.name, "weather");
    /// ```
    #[non_exhaustive]
    pub struct ToolSpec {
        /// Its name, by which the model calls it.
        pub name: String,
        /// Its name for people.
        pub title?: String,
        /// What it does.
        pub description?: String,
        /// The JSON Schema of its input.
        pub input_schema: Value,
        /// The JSON Schema of its structured output.
        pub output_schema?: Value,
        /// What only one provider understands.
        pub provider_options?: Value,
    }
}

impl ToolSpec {
    /// A tool of this name whose input fits this schema.
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), input_schema, ..Self::default() }
    }

    /// Says what it does.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

json_struct! {
    /// A tool that the page can execute, as its request describes it.
    ///
    /// ```
    /// use headwater_protocol::ClientTool;
    ///
    /// let tool: ClientTool = serde_json::from_str(r#"{"name":"position"}"#).unwrap();
    /// assert_eq!(tool.parameters, None);
    /// ```
    pub struct ClientTool {
        /// Its name.
        pub name: String,
        /// What it does.
        pub description?: String,
        /// The JSON Schema of its input.
        pub parameters?: Value,
    }
}
