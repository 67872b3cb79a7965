/** JSON fields that hold secrets; where the text was cut, the secret may lack its end. */
const secrets = /("(?:password|password_confirmation)"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)/g;

/** JSON, whole or its beginning, without the passwords in it. */
export function redactSecrets(json: string): string {
  return json.replace(secrets, '$1"(redacted)"');
}
