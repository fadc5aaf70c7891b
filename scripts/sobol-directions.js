// Writes the direction numbers of Sobol sequences for Python, from the module of TypeScript that has them.
import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'

/** @param root - folder of the package */
export function writeSobolDirections(root) {
  const source = readFileSync(join(root, 'src/attention/projections/sobol-directions.ts'), 'utf8')
  const [, comment, table] = /^\/\*\*\n(.*?)\n \*\/\nconst TABLE = `\n(.*?)`/s.exec(source)
  const text = comment.replaceAll(/^ \* ?/gm, '')
  const module = `"""${text}\n"""\n\nTABLE = """\\\n${table}"""\n`
  writeFileSync(join(root, 'python/rfa/_sobol_directions.py'), module)
}
