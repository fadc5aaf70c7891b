import {distance} from 'fastest-levenshtein'

/** Codes of everything that can go wrong for a reason the user can act on. Exit codes: `cli/exit-codes.ts`. */
export type RfaErrorCode =
  | 'USAGE'
  | 'BAD_RANGE'
  | 'BAD_OPTION'
  | 'UNKNOWN_NAME'
  | 'SHAPE_MISMATCH'
  | 'NOT_FINITE'
  | 'UNSUPPORTED'
  | 'BAD_FILE'
  | 'FILE_MISSING'
  | 'FILE_CHANGED'
  | 'ARRAY_MISSING'
  | 'NOT_WRITABLE'
  | 'WOULD_OVERWRITE'
  | 'UNKNOWN_SCHEMA'
  | 'PLAN_MISMATCH'
  | 'TOO_LARGE'
  | 'BACKEND_MISSING'
  | 'BACKEND_NOT_READY'
  | 'BAD_PLUGIN'
  | 'PLUGIN_FAILED'
  | 'GATE_FAILED'
  | 'CELL_CRASHED'
  | 'CELL_TIMEOUT'
  | 'INTERRUPTED'

/** What an error carries in addition to its sentence. */
export interface RfaErrorDetails {
  /** What to try, one action each, most likely first. */
  suggestions?: readonly string[]
  cause?: unknown
}

/**
 * The one error class of the project: a sentence a user can act on, a stable code, and remedies.
 *
 * The message reads `<where>: expected <what>, got <value and shape>`; use `expected` to write it. Settings of
 * the caller stand in backquotes by their names in code, a value after a colon: \`seqLen\`, \`preset: exact\`; commands
 * show them as flags.
 */
export class RfaError extends Error {
  override readonly name = 'RfaError'
  readonly code: RfaErrorCode
  readonly suggestions: readonly string[]

  constructor(code: RfaErrorCode, message: string, details: RfaErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : {cause: details.cause})
    this.code = code
    this.suggestions = details.suggestions ?? []
  }
}

/**
 * Writes the sentence of an {@link RfaError}, so that wording is uniform.
 *
 * @param code - stable code
 * @param where - flag, file, function or argument the value came from
 * @param what - what was expected, as a noun phrase
 * @param got - what came instead, already readable; see {@link describe}
 */
export function expected(
  code: RfaErrorCode,
  where: string,
  what: string,
  got: string,
  ...suggestions: string[]
): RfaError {
  return new RfaError(code, `${where}: expected ${what}, got ${got}`, {suggestions})
}

/** Characters of a text, and items of a list, that a message shows: hostile files hold long ones. */
const SHOWN = 200
const SHOWN_ITEMS = 24

/** A text as messages show it: not without end. */
export function clipped(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

/** Characters of a message of others: what they raise may hold whole arrays. */
const LONGEST_MESSAGE = 1000

/** A message as it is shown and saved: not without end. */
export function bounded(message: string): string {
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message
}

/**
 * A value as an error message shows it: quoted text, numbers as they are, shapes in brackets. Any
 * value will do: deep, long, or an object that hides what every object has.
 */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(clipped(value))
  if (!Array.isArray(value)) return plain(value)
  const items = value.slice(0, SHOWN_ITEMS).map(item => (Array.isArray(item) ? '[…]' : plain(item)))
  const rest = value.length - items.length
  return `[${[...items, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ')}]`
}

/** Anything but a list, without quotes; an object by the name of its class. */
function plain(value: unknown): string {
  if (typeof value === 'string') return clipped(value)
  if (value === undefined) return 'none'
  if (typeof value !== 'object' || value === null) return String(value)
  const {name} = Object.getPrototypeOf(value)?.constructor ?? {}
  return typeof name === 'string' ? name : 'object'
}

/** The name of an array or member in a message: quoted where it could be taken for something else. */
export function shownName(name: string): string {
  return /^[\w.:/-]{1,100}$/.test(name) ? name : describe(name)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * What a mistyped `name` may have meant, for "did you mean": a name that contains it or that it begins with, else the one
 * closest to it as a whole or up to its first dash: one edit for every three letters, at least one,
 * but of a word of four letters or less never its first. Nothing is better than something unrelated.
 */
export function closest(name: string, names: readonly string[]): string | undefined {
  const typed = name.toLowerCase()
  const related = relatedTo(typed, names)
  if (related !== undefined) return related
  const [best] = ranked(
    typed,
    names.filter(candidate => typed.length > 4 || candidate[0]?.toLowerCase() === typed[0]),
  )
  const limit = Math.min(Math.max(1, Math.floor(typed.length / 3)), typed.length - 1)
  return best && best.edits <= limit ? best.candidate : undefined
}

/** A name that contains what was typed, or that it begins with. */
function relatedTo(typed: string, names: readonly string[]): string | undefined {
  if (typed.length <= 2) return undefined
  const lower = (candidate: string) => candidate.toLowerCase()
  return (
    names.find(candidate => lower(candidate).startsWith(typed)) ??
    names.find(candidate => lower(candidate).includes(typed)) ??
    names.find(candidate => candidate.length > 3 && typed.startsWith(lower(candidate)))
  )
}

/** Names with their edits to a lowercase word, the fewest first. */
function ranked(typed: string, names: readonly string[]) {
  return names
    .map(candidate => ({candidate, edits: editsTo(typed, candidate.toLowerCase())}))
    .sort((a, b) => a.edits - b.edits)
}

/** Names that a message lists; of more it shows the {@link SHOWN_CLOSE} closest. */
const SHOWN_NAMES = 8
const SHOWN_CLOSE = 3

/**
 * Names as a message lists them: `a, b, c`, or of many `a, b, c and 30 more`, those closest to what was typed first, if
 * it is close to any.
 *
 * @param name - what was typed
 * @param guess - what it may have meant
 */
export function listedFor(
  name: string,
  names: readonly string[],
  guess = closest(name, names),
): string {
  if (names.length <= SHOWN_NAMES) return names.join(', ')
  const others =
    guess === undefined
      ? names
      : [guess, ...ranked(name.toLowerCase(), names).map(({candidate}) => candidate)]
  const shown = [...new Set(others)].slice(0, SHOWN_CLOSE)
  return `${shown.join(', ')} and ${names.length - shown.length} more`
}

function editsTo(typed: string, candidate: string): number {
  const [stem = ''] = candidate.split('-')
  const singular = candidate.replace(/s$/, '')
  return Math.min(...[candidate, stem, singular].map(meant => edits(typed, meant)))
}

/** Letters inserted, left out or replaced; two neighbours that changed places are one slip. */
function edits(typed: string, meant: string): number {
  const at = [...typed].findIndex((letter, index) => letter !== meant[index])
  const swapped = `${typed.slice(0, at)}${typed[at + 1] ?? ''}${typed[at] ?? ''}${typed.slice(at + 2)}`
  return swapped === meant && typed !== meant ? 1 : distance(typed, meant)
}

/** Commands that list all names of a kind. */
const LISTS: Readonly<Record<string, string>> = {
  methods: 'rfa methods lists all',
  projections: 'rfa methods --projections lists all',
  claims: 'rfa claims --explain lists all',
}

/** Error for a name that is not in a registry. @param guess - what it may have meant */
export function unknownName(
  where: string,
  kind: string,
  name: string,
  names: readonly string[],
  guess: string | undefined = typeof name === 'string' ? closest(name, names) : undefined,
) {
  const list = names.length > SHOWN_NAMES ? LISTS[kind] : undefined
  // no command lists the others
  const all = guess === undefined && list === undefined
  const shown = all ? names.join(', ') : listedFor(String(name), names, guess)
  return expected(
    'UNKNOWN_NAME',
    where,
    `one of the ${kind} ${shown}`,
    describe(name),
    ...(guess ? [`did you mean ${guess}?`] : []),
    ...(list ? [list] : []),
  )
}
