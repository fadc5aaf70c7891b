import {quoted} from '../shell-words.js'
import {printable} from './printable.js'

/**
 * The command as the user could type it again.
 *
 * @param argv - program, command and arguments; a single word is a whole command of an earlier manifest, as it was
 */
export function commandText(argv: readonly string[]): string {
  return argv.length === 1 ? argv[0]! : argv.map(quoted).join(' ')
}

/**
 * The command that goes on where an interrupted run stopped: the same grid, its folder, `--resume`.
 *
 * @param argv - of the interrupted command
 * @param directory - folder of the run
 * @param dropped - flags with a value that are left out, with dashes
 */
export function resumeLine(
  argv: readonly string[],
  directory: string,
  dropped: readonly string[] = [],
): string {
  const folder = typeablePath(directory)
  return commandText([...withoutFolder(argv, dropped), '--output', folder, '--resume'])
}

/** A path that no program takes for a flag: one that begins with a dash begins with `./`. */
export function typeablePath(path: string): string {
  return path.startsWith('-') ? `./${path}` : path
}

/** A command without its folder and `--resume`, and without some flags that have a value, with dashes. */
export function withoutFolder(argv: readonly string[], dropped: readonly string[] = []): string[] {
  const replaced = ['--output', '-o', ...dropped]
  const kept: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]!
    if (replaced.includes(word)) index++
    else if (replaced.includes(word.replace(/=.*/s, ''))) continue
    else if (word !== '--resume' && !/^-o./.test(word)) kept.push(word)
  }
  return kept
}

/**
 * {@link resumeLine} of a saved run. Its manifest may come from anywhere: only a command of rfa is given back as
 * advice, with every word quoted anew.
 *
 * @param own - program and command that it must name
 * @returns `null` for any other
 */
export function resumeLineOf(
  argv: readonly string[],
  directory: string,
  own: {bin: string; id: string},
): string | null {
  const [bin, id] = argv
  const line = resumeLine(argv, directory)
  // a line break within quotes would run as several lines where quotes are lost
  const plain = printable(line) === line && !line.includes('\n')
  return bin === own.bin && (id === own.id || id === 'run') && plain ? line : null
}
