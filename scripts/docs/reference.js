// Pages of the site that are written from what the built program knows.
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {commandReference} from './commands.js'

/** M and D at which lengths of phi are shown, those of `rfa methods`. */
const SIZE = {numFeatures: 256, headDim: 64}

/**
 * @param root - folder of the package, built
 * @param folder - the pages are written into it
 */
export async function writeReference(root, folder) {
  for (const [name, text] of Object.entries(await referencePages(root))) {
    const file = join(folder, `${name}.md`)
    mkdirSync(dirname(file), {recursive: true})
    writeFileSync(file, text)
  }
}

/** The pages by their paths without `.md`. @param root - folder of the package, built */
export async function referencePages(root) {
  const built = path => import(new URL(`../../dist/src/${path}.js`, import.meta.url))
  const {describeMethods, describeProjections} = await built('cli/describe/describe-methods')
  const {describeFields} = await built('cli/describe/describe-fields')
  const {renderMarkdown} = await built('report/markdown')
  const {text} = await built('report/document')

  const request = {...SIZE, preset: undefined}
  const all = await describeMethods(request)
  const each = await Promise.all(
    all.methods.map(({name}) => describeMethods({...request, names: [name]})),
  )
  const {projections, blocks} = describeProjections()
  const projected = projections.map(({name}) => describeProjections([name]))
  const records = await describeFields()
  const page = (title, intro, parts) =>
    [`# ${title}`, intro, ...parts.map(own => nested(renderMarkdown(own.blocks)))].join('\n\n')
  return {
    methods: page('Methods', METHODS, [all, ...each]),
    projections: page('Projections', PROJECTIONS, [{blocks}, ...projected]),
    records: page('Saved tables', RECORDS, [records]),
    schemas: schemasPage(join(root, 'schemas')),
    ...commandReference(content => renderMarkdown([text(content)]).trim()),
  }
}

const METHODS = `Every estimator that \`--methods\` takes, as the registry has it; \`npx rfa methods favor-pos\` shows one in a
terminal. F is the length of phi at head dimension ${SIZE.headDim}.`
const PROJECTIONS = 'Every random matrix that `--projection` takes, as the registry has it.'
const RECORDS = `Every column of \`records.csv\` and of the files next to it. Lines of \`records.jsonl\` hold the same, nested, and have a
[schema](schemas.md). The last field of a line, \`crc32\`, is the CRC-32 of all bytes of the line in front of \`,"crc32"\`; lines of
earlier versions have none.`

/** Headings one level down: the page has a title. */
function nested(markdown) {
  return markdown.replaceAll(/^(#+ )/gm, '#$1').trim()
}

/** A table of the schemas with the properties at their top. */
function schemasPage(folder) {
  const files = readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .sort()
  const sections = files.map(file => {
    const schema = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const branches = schema.oneOf ?? schema.anyOf ?? [schema]
    return `## ${file}\n\n${schema.title ?? ''}\n\n${branches.map(propertiesTable).join('\n\n')}`
  })
  const intro = `What \`--json\` prints and what runs save is described by JSON Schemas, in \`schemas/\` of the package. Here are their
outermost fields; fields marked * are always there.`
  return ['# Schemas', intro, ...sections].join('\n\n')
}

function propertiesTable({properties = {}, required = []}) {
  const rows = Object.entries(properties).map(([name, own]) => {
    const type = own.const ?? own.type ?? 'see the schema'
    return `| ${name}${required.includes(name) ? ' *' : ''} | ${cell(String(type))} | ${cell(own.description ?? '')} |`
  })
  return rows.length === 0
    ? ''
    : ['| field | type | meaning |', '| --- | --- | --- |', ...rows].join('\n')
}

/** Text that stays one cell, and no markup. */
function cell(text) {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '{ {')
}
