import {RfaError} from '../errors.js'

/** All cells of a run have ended and stand in its journal, but its tables could not be written. */
export class UnsavedTables<Run> extends RfaError {
  /** What there is to show all the same. */
  readonly run: Run

  /** @param cause - why not */
  constructor(run: Run, cause: RfaError) {
    super(cause.code, cause.message, {suggestions: cause.suggestions, cause})
    this.run = run
  }
}
