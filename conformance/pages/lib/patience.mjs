/** How long a page may take for one thing, in milliseconds; it is there so that a page that hangs fails by name. */
export const PATIENCE = Number(process.env.HEADWATER_PATIENCE ?? 30_000);
