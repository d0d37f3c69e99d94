use headwater_models::{
    ModelErrorKind, Models,
    scripted::{Script, ScriptedModel},
};

fn models() -> Models {
    Models::new()
        .add("writer", ScriptedModel::new(Script::new("email")))
        .add("judge", ScriptedModel::new(Script::new("strict")))
}

#[test]
fn model_is_found_by_alias_and_by_own_name() {
    let models = models();
    assert_eq!(models.get("judge").unwrap().name(), "scripted:strict");
    assert_eq!(models.get("scripted:email").unwrap().name(), "scripted:email");
    assert_eq!(models.names().collect::<Vec<_>>(), ["judge", "writer", "scripted:email", "scripted:strict"]);
}

#[test]
fn unknown_name_lists_known_models_and_suggests_the_nearest() {
    let error = models().get("wirter").unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::UnknownModel);
    assert_eq!(
        error.message(),
        "there is no model `wirter`: did you mean `writer`? known models: judge, writer, scripted:email, scripted:strict",
    );
    let error = Models::new().get("writer").unwrap_err();
    assert_eq!(error.message(), "there is no model `writer`: no models were added");
}
