/** Breaking texts into lines. */

/** Where a line may end: not between a number and its percent sign. */
const GAP = /\s+(?!%)/

/** Lines of at most `width` columns; a longer word gets a separate line. */
export function wrap(paragraph: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of paragraph.split(GAP)) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line ? `${line} ${word}` : word
    }
  }
  return [...lines, line]
}

/** The same where nothing may be wider: longer words are cut. */
export function wrapHard(paragraph: string, width: number): string[] {
  const room = Math.max(1, width)
  return wrap(paragraph, room).flatMap(line => {
    const pieces = Math.max(1, Math.ceil(line.length / room))
    return Array.from({length: pieces}, (_, at) => line.slice(at * room, (at + 1) * room))
  })
}
