// What python/pyproject.toml says, and the metadata of a wheel that follows from it.
import {readFileSync} from 'node:fs'
import {join} from 'node:path'

/**
 * The table `[project]` and its scripts. Only strings and lists of strings, one a line, are read: these are JSON as well.
 *
 * @param root - folder of the package
 */
export function pyproject(root) {
  const text = readFileSync(join(root, 'python', 'pyproject.toml'), 'utf8')
  const {version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const project = tableOf(text, 'project')
  if (project.version !== version) {
    throw new Error(`python/pyproject.toml: expected version ${version}, got ${project.version}`)
  }
  return {
    ...project,
    scripts: tableOf(text, 'project.scripts'),
    extras: tableOf(text, 'project.optional-dependencies'),
  }
}

function tableOf(text, name) {
  const body = text.split(/^\[/m).find(part => part.startsWith(`${name}]`)) ?? ''
  const rows = body.matchAll(/^([\w-]+) = (["[].*)$/gm)
  return Object.fromEntries([...rows].map(([, key, value]) => [key, JSON.parse(value)]))
}

/** The file METADATA. @param licences - names of the files of licences */
export function metadata(project, licences) {
  const lines = [
    'Metadata-Version: 2.4',
    `Name: ${project.name}`,
    `Version: ${project.version}`,
    `Summary: ${project.description}`,
    `License-Expression: ${project.license}`,
    ...licences.map(name => `License-File: ${name}`),
    `Requires-Python: ${project['requires-python']}`,
    ...project.dependencies.map(name => `Requires-Dist: ${name}`),
    ...Object.entries(project.extras).flatMap(([extra, names]) => [
      `Provides-Extra: ${extra}`,
      ...names.map(name => `Requires-Dist: ${name}; extra == "${extra}"`),
    ]),
  ]
  return `${lines.join('\n')}\n`
}

/** The file of console scripts. */
export function entryPoints({scripts}) {
  const rows = Object.entries(scripts).map(([name, place]) => `${name} = ${place}`)
  return `[console_scripts]\n${rows.join('\n')}\n`
}
