/** What the author can mend: shown without a stack. */
export class Complaint extends Error {}
