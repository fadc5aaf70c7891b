/** Python that peers and plug-ins run in: the one of RFA_PYTHON, or `python3`. */
export function pythonPath(environment = process.env): string {
  return environment.RFA_PYTHON || 'python3'
}
