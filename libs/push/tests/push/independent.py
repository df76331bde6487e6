"""Reads pushes as a device and a push service do, with nothing of ours: http-ece and cryptography.

In: a JSON list of {private_key, auth, body, authorization}, binary values in base64url.
Out: a JSON list of {plaintext, claims}.
"""

import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decrypt(push):
    number = int.from_bytes(decode(push["private_key"]), "big")
    key = ec.derive_private_key(number, ec.SECP256R1())
    return http_ece.decrypt(
        decode(push["body"]), private_key=key, auth_secret=decode(push["auth"]), version="aes128gcm"
    )


def verify(authorization):
    scheme, _, parameters = authorization.partition(" ")
    assert scheme == "vapid", scheme
    parameters = dict(one.strip().split("=", 1) for one in parameters.split(","))
    signed, _, signature = parameters["t"].rpartition(".")
    header, _, claims = signed.partition(".")
    assert json.loads(decode(header))["alg"] == "ES256", header
    r, s = (int.from_bytes(half, "big") for half in (decode(signature)[:32], decode(signature)[32:]))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(parameters["k"]))
    key.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))
    return json.loads(decode(claims))


pushes = json.load(sys.stdin)
read = [{"plaintext": encode(decrypt(push)), "claims": verify(push["authorization"])} for push in pushes]
json.dump(read, sys.stdout)
