/** JSON fields with secrets; in truncated text, the secret may lack its end. */
const secrets = /("(?:password|password_confirmation)"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)/g;

/** Redacts the passwords in JSON, even if it is truncated. */
export function redactSecrets(json: string): string {
  return json.replace(secrets, '$1"(redacted)"');
}
