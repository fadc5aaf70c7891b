/**
 * Finds a key that some object of a JSON text has twice. `JSON.parse` keeps the last of them
 * without a word, so that a file could mean one thing here and another elsewhere.
 *
 * @param json - a text that `JSON.parse` accepts
 * @returns the first repeated key in the text, unescaped; `undefined` when there is none
 */
export function duplicateKey(json: string): string | undefined {
  const open: Set<string>[] = [] // keys of the objects around the current position
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '{') open.push(new Set())
    else if (character === '}') open.pop()
    else if (character === '"') {
      const end = stringEnd(json, at)
      if (isFollowedByColon(json, end)) {
        const key = JSON.parse(json.slice(at, end)) as string
        const keys = open.at(-1)
        if (keys?.has(key)) return key
        keys?.add(key)
      }
      at = end - 1
    }
  }
  return undefined
}

/** Position after the closing quote of the string that opens at `start`. */
function stringEnd(json: string, start: number): number {
  let at = start + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** In valid JSON outside of strings, a colon follows keys only. */
function isFollowedByColon(json: string, start: number): boolean {
  let at = start
  while (' \t\n\r'.includes(json[at] ?? '.')) at++
  return json[at] === ':'
}
