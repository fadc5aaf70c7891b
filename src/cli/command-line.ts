import {printable} from '../report/printable.js'

/** A shell word: quoted only where it must be. */
function quoted(word: string): string {
  return /^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** The command as the user could type it again. */
export function commandLine(bin: string, id: string, argv: readonly string[]): string {
  return [bin, id, ...argv].map(quoted).join(' ')
}

/**
 * The command that goes on where an interrupted run stopped: the same grid, its folder, `--resume`.
 *
 * @param argv - arguments of the interrupted command
 * @param directory - folder of the run
 */
export function resumeLine(bin: string, id: string, argv: readonly string[], directory: string) {
  const kept: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? ''
    if (word === '--output' || word === '-o') index++
    else if (!/^--(output=|resume$)/.test(word) && !/^-o./.test(word)) kept.push(word)
  }
  return commandLine(bin, id, [...kept, '--output', directory, '--resume'])
}

/**
 * {@link resumeLine} of a saved run, whose manifest may have been written by anybody: only a command
 * of rfa as {@link commandLine} writes it is given back as advice, with every word quoted anew.
 *
 * @param command - as the manifest has it
 * @param own - program and command that it must name
 * @returns `null` for any other text
 */
export function resumeLineOf(
  command: string,
  directory: string,
  own: {bin: string; id: string},
): string | null {
  const [bin = '', id = '', ...argv] = wordsOf(command)
  const known = bin === own.bin && id === own.id && commandLine(bin, id, argv) === command
  // a line break within quotes would run as several lines where quotes are lost
  const plain = printable(command) === command && !command.includes('\n')
  return known && plain ? resumeLine(bin, id, argv, directory) : null
}

/** The words of a command line, without the quotes that {@link quoted} puts around some. */
function wordsOf(line: string): string[] {
  const words = line.match(/('[^']*'|\\'|[^\s'\\])+/g) ?? []
  return words.map(word => word.replace(/'([^']*)'|\\'/g, (_, inner?: string) => inner ?? "'"))
}
