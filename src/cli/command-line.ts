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

/** {@link resumeLine} of a run that names its command as {@link commandLine} wrote it. */
export function resumeLineOf(command: string, directory: string): string {
  const [bin = '', id = '', ...argv] = wordsOf(command)
  return resumeLine(bin, id, argv, directory)
}

/** The words of a command line, without the quotes that {@link quoted} puts around some. */
function wordsOf(line: string): string[] {
  const words = line.match(/('[^']*'|\\'|[^\s'\\])+/g) ?? []
  return words.map(word => word.replace(/'([^']*)'|\\'/g, (_, inner?: string) => inner ?? "'"))
}
