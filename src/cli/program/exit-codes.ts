import type {RfaErrorCode} from '../../errors.js'

/** Exit codes of every command, in the order in which help shows them. */
export const EXIT_CODES = [
  {exit: 0, meaning: 'done'},
  {
    exit: 1,
    meaning:
      'a check failed, a verdict differs from the reference run (claims --strict), or --fail-on found a limit exceeded',
  },
  {exit: 2, meaning: 'wrong usage: a flag, a value or a combination of them'},
  {exit: 3, meaning: 'a backend or a file is missing or cannot be used'},
  {exit: 4, meaning: 'some cells failed, or all were skipped; the others are reported'},
  {
    exit: 5,
    meaning:
      'undecided: --fail-on could judge nothing (with --strict, not everything), claims --strict found a claim inconclusive, or advise --model could not time the model',
  },
  {exit: 70, meaning: 'a fault of rfa itself'},
  {exit: 130, meaning: 'interrupted by SIGINT, SIGTERM or SIGHUP; finished cells are kept'},
] as const

export const EXIT_CHECK_FAILED = 1
/** Exit code of `claims --strict` when a verdict differs from the reference run. */
export const EXIT_CLAIM_NOT_SHOWN = 1
export const EXIT_REGRESSION = 1
/** Exit code when at least one cell of a run failed, or all that were asked for were skipped. */
export const EXIT_CELLS_FAILED = 4
/** Exit code when a comparison, claims with `--strict`, or advice on a model could not judge what it was asked to. */
export const EXIT_UNDECIDED = 5
/** Exit code of an error without an {@link RfaErrorCode}: a bug. */
export const EXIT_INTERNAL = 70

const EXIT_OF_CODE: Readonly<Record<RfaErrorCode, number>> = {
  USAGE: 2,
  BAD_RANGE: 2,
  BAD_OPTION: 2,
  UNKNOWN_NAME: 2,
  UNSUPPORTED: 2,
  WOULD_OVERWRITE: 2,
  PLAN_MISMATCH: 2,
  TOO_LARGE: 2,
  SHAPE_MISMATCH: 3,
  NOT_FINITE: 3,
  BAD_FILE: 3,
  FILE_MISSING: 3,
  FILE_CHANGED: 3,
  ARRAY_MISSING: 3,
  NOT_WRITABLE: 3,
  UNKNOWN_SCHEMA: 3,
  BACKEND_MISSING: 3,
  BACKEND_NOT_READY: 3,
  BAD_PLUGIN: 3,
  PLUGIN_FAILED: 3,
  GATE_FAILED: EXIT_CELLS_FAILED,
  CELL_CRASHED: EXIT_CELLS_FAILED,
  CELL_TIMEOUT: EXIT_CELLS_FAILED,
  INTERRUPTED: 130,
}

export function exitCodeOf(code: RfaErrorCode): number {
  return EXIT_OF_CODE[code]
}

/** The table as the last paragraph of a command's help. */
export function exitCodesHelp(): string {
  return [
    'Exit codes:',
    ...EXIT_CODES.map(({exit, meaning}) => `${String(exit).padEnd(3)}  ${meaning}`),
  ].join('\n')
}
