//! Descriptions of tools: for models, and as sent by a page.

use serde_json::Value;

use crate::json_struct::json_struct;

json_struct! {
    /// A tool as described to a model.
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
        /// Name by which the model calls the tool.
        pub name: String,
        /// Human-readable name.
        pub title?: String,
        /// What the tool does.
        pub description?: String,
        /// The JSON Schema of its input.
        pub input_schema: Value,
        /// The JSON Schema of its structured output.
        pub output_schema?: Value,
        /// Options for single providers, keyed by provider name.
        pub provider_options?: Value,
    }
}

impl ToolSpec {
    /// A tool with this name and input schema.
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), input_schema, ..Self::default() }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

json_struct! {
    /// A tool that the page can run, as described in its request.
    ///
    /// ```
    /// use headwater_protocol::ClientTool;
    ///
    /// let tool: ClientTool = serde_json::from_str(r#"{"name":"position"}"#).unwrap();
    /// assert_eq!(tool.parameters, None);
    /// ```
    pub struct ClientTool {
        /// Name of the tool.
        pub name: String,
        /// What the tool does.
        pub description?: String,
        /// The JSON Schema of its input.
        pub parameters?: Value,
    }
}
