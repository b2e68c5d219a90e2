/** An error that the author can fix: shown without a stack. */
export class Complaint extends Error {}
