//! Whether the user of the database may do what nodes do, and nothing else.

use std::io;

use node::Settings;
use store::postgres::{UserRights, user_rights};

use super::Findings;
use crate::cluster::Role;

/// How many rights are named of those that are missing or too many.
const SHOWN: usize = 5;

/// For the given role; without one the user must do for one of them, or for all as the owner.
pub(super) async fn look(settings: &Settings, role: Option<Role>, findings: &mut Findings) -> io::Result<()> {
    let asked = role.map_or(Role::ALL.to_vec(), |role| vec![role]);
    let mut found = Vec::new();
    for role in asked {
        match user_rights(&settings.database, role.in_database()).await {
            Ok(rights) => found.push((role, rights)),
            Err(error) => return findings.bad("rights", &error.to_string(), "see what the others say"),
        }
    }
    if role.is_some() {
        return found.iter().try_for_each(|(role, rights)| of_role(*role, rights, findings));
    }
    let Some((_, rights)) = found.first() else { return Ok(()) };
    if rights.is_owner {
        let text = format!("{} may do everything; users of nodes need less (--role)", rights.user);
        return findings.good("rights", &text);
    }
    let fits = |rights: &UserRights| rights.lacking.is_empty();
    let roles: Vec<&str> =
        found.iter().filter(|(_, rights)| fits(rights)).map(|(role, _)| role.as_str()).collect();
    if roles.is_empty() {
        let text = format!("{} may not do what nodes do, of whatever role", rights.user);
        return findings.bad("rights", &text, "see what is missing with --role api, gateway or worker");
    }
    findings.good("rights", &format!("{} may do what nodes do of role {}", rights.user, roles.join(", ")))
}

fn of_role(role: Role, rights: &UserRights, findings: &mut Findings) -> io::Result<()> {
    let (user, group) = (&rights.user, role.in_database());
    if rights.is_superuser || rights.is_owner {
        let what = if rights.is_superuser { "a superuser" } else { "the owner of the tables" };
        let found = format!("{user} is {what}, which nodes need not be");
        let advice = format!("give {role} nodes a user of their own: CREATE ROLE ... LOGIN IN ROLE {group}");
        return findings.bad("rights", &found, &advice);
    }
    if !rights.lacking.is_empty() {
        let found = format!("{user} lacks what {role} nodes need: {}", some(&rights.lacking));
        let advice =
            format!("run: switchboard migrate --create-roles; and as its owner: GRANT {group} TO {user}");
        return findings.bad("rights", &found, &advice);
    }
    if !rights.exceeding.is_empty() {
        let found = format!("{user} may do more than {role} nodes need: {}", some(&rights.exceeding));
        let advice =
            format!("make it a member of {group} alone, and take away what it or PUBLIC was granted");
        return findings.bad("rights", &found, &advice);
    }
    findings.good("rights", &format!("{user} may do what {role} nodes do, and nothing else"))
}

fn some(rights: &[String]) -> String {
    let shown = rights.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match rights.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
