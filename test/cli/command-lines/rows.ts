/** What a row of the table of command lines is. */

/**
 * A command line, its exit code, what the output must show, and what it must not.
 *
 * Words are divided by spaces, `''` is an empty one, and `DIR` is a folder with the files of `files.ts`; a line with
 * spaces within words is a list.
 */
export type Row = readonly [
  line: string | readonly string[],
  exit: number,
  shows: RegExp,
  hides?: RegExp,
]
